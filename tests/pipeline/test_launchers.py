import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline.cli import main

WIDE = ["slurm.nodes=4", "slurm.gpus_per_node=8", "slurm.partition=gpu", 'model.name="it\'s mine"']
IMAGE = "kuberay.image=registry/holdtrue:1"


def printed(capsys, *words):
    assert main(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [[], WIDE])
def test_the_batch_script_is_sound_bash(words, capsys, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text(printed(capsys, "slurm", "--dry-run", *words))
    subprocess.run(["bash", "-n", script], check=True)
    checker = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([checker, script], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_the_job_asks_for_what_was_asked(capsys):
    script = printed(capsys, "slurm", "--dry-run", *WIDE)
    given = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", script, re.MULTILINE))
    assert (given["nodes"], given["gpus-per-node"], given["partition"]) == ("4", "8", "gpu")
    assert "cluster.nodes=4" in script
    assert "--exclusive" in script


def test_a_jobs_ray_needs_a_token(capsys):
    assert "RAY_AUTH_MODE=token" in printed(capsys, "slurm", "--dry-run")


def test_without_sbatch_one_line_says_so(capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["slurm"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no sbatch on PATH" in line


def test_the_script_goes_to_sbatch(capfd, monkeypatch, tmp_path):
    (tmp_path / "sbatch").write_text('#!/bin/sh\ncat >"$TAKEN"\necho Submitted batch job 7\n')
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TAKEN", str(tmp_path / "taken"))
    assert main(["slurm", "slurm.nodes=2"]) == 0
    assert "Submitted batch job 7" in capfd.readouterr().out
    assert "#SBATCH --nodes=2" in (tmp_path / "taken").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["slurm.nods=2"], "slurm.nods"),
        (["slurm.nodes=two"], "whole number"),
        (["chain.lenght=2"], "chain.lenght"),
        (["slurm.name=a\n#SBATCH --wrap=b"], "one line"),
    ],
)
def test_a_mistake_is_found_before_the_queue(words, said, capsys):
    assert main(["slurm", "--dry-run", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_ray_job_has_the_fields_of_its_kind(capsys):
    words = (IMAGE, "kuberay.workers=3", "kuberay.gpus_per_worker=8", "chain.length=5")
    job = yaml.safe_load(printed(capsys, "kuberay", *words))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["replicas"] == workers["minReplicas"] == workers["maxReplicas"] == 3
    for group, gpus in ((cluster["headGroupSpec"], None), (workers, "8")):
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"] == "registry/holdtrue:1"
        assert container["resources"]["limits"].get("nvidia.com/gpu") == gpus
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in group["template"]["spec"]["volumes"]}


def test_the_ray_job_runs_what_was_asked_on_the_shared_volume(capsys):
    job = yaml.safe_load(printed(capsys, "kuberay", IMAGE, "chain.length=5"))
    entry = job["spec"]["entrypoint"]
    assert entry.startswith("holdtrue run chain.length=5 runs_dir=/runs cluster.nodes=2")


def test_a_ray_job_needs_an_image(capsys):
    assert main(["kuberay"]) == 2
    assert "kuberay.image" in capsys.readouterr().err
