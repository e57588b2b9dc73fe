import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conf import ClusterConfig, UserError
from pipeline.cluster import PACKAGES, ROOT, job_config

DRIVER = Path(__file__).with_name("shadowed_driver.py")


def drive(folder: Path, *arguments: str) -> dict[str, str]:
    """Start a driver in a folder that has packages with our names; return what a worker imports."""
    for package in PACKAGES:
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "-P", str(DRIVER), *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.ray
@pytest.mark.timeout(300)
def test_a_users_own_folders_do_not_hide_ours_from_the_workers(tmp_path: Path) -> None:
    found = drive(tmp_path)
    assert {Path(path).parent.parent for path in found.values()} == {ROOT}


@pytest.mark.ray
@pytest.mark.timeout(300)
def test_a_cluster_that_is_joined_gets_our_code_by_ray(ray_session: None, tmp_path: Path) -> None:
    import ray

    found = drive(tmp_path, ray.get_runtime_context().gcs_address)
    folders = {Path(path).parent.parent for path in found.values()}
    assert all("py_modules_files" in str(folder) for folder in folders)
    assert ray.is_initialized()


def test_installed_code_is_not_shipped() -> None:
    job = job_config(ClusterConfig(code="installed"), joins=True)
    assert "py_modules" not in (job.runtime_env or {})


def test_a_third_way_to_get_code_to_the_workers_is_refused() -> None:
    with pytest.raises(UserError, match=r"cluster\.code"):
        ClusterConfig(code="copied")
