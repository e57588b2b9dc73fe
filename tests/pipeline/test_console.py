from pathlib import Path

from pipeline.console import captured_output


def test_a_log_on_a_full_disk_does_not_end_the_run(capfd):
    with captured_output(Path("/dev/full")) as console:
        print("what a library says " * 1000)
        console.print("what we say")
    assert capfd.readouterr().out == "what we say\n"


def test_what_is_printed_goes_to_the_log_and_our_own_words_to_the_terminal(tmp_path, capfd):
    with captured_output(tmp_path / "log") as console:
        print("what a library says")
        console.print("what we say")
    assert (tmp_path / "log").read_text() == "what a library says\n"
    assert capfd.readouterr().out == "what we say\n"
