from pipeline.tracking.lines import Lines, read_lines


def test_lines_are_numbered_over_all_starts(tmp_path):
    path = tmp_path / "a.jsonl"
    assert [Lines(path).append({"x": 1}), Lines(path).append({"x": 2})] == [0, 1]
    assert [(row["line"], row["x"]) for row in read_lines(path)] == [(0, 1), (1, 2)]


def test_half_a_line_of_a_killed_writer_costs_only_itself(tmp_path):
    path = tmp_path / "a.jsonl"
    Lines(path).append({"x": 1})
    with path.open("a") as file:
        file.write('{"line": 1, "x"')
    Lines(path).append({"x": 3})
    assert [row["x"] for row in read_lines(path)] == [1, 3]


def test_what_is_no_number_is_null(tmp_path):
    path = tmp_path / "a.jsonl"
    Lines(path).append({"x": float("nan")})
    assert next(read_lines(path))["x"] is None


def test_no_file_has_no_lines(tmp_path):
    assert list(read_lines(tmp_path / "none.jsonl")) == []
