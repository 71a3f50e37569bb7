"""What would be published is whole: wheels can be made from the sdists, and digests are those of the files."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import published  # noqa: E402 - beside the tests, in no package


def test_all_packages_are_whole(tmp_path):
    """Two files a package, and a digest of each that `sha256sum` confirms."""
    subprocess.run([sys.executable, str(ROOT / "published.py"), str(tmp_path)], check=True, capture_output=True)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert len(lines) == 2 * len(published.PACKAGES)
    for line in lines:
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("fault", ["a folder of this machine", "a link that leads out"])
def test_a_fault_is_found(fault, tmp_path, monkeypatch):
    """Control: a copy of a package with a fault is refused."""
    package = tmp_path / "package"
    shutil.copytree(ROOT / "packages" / "discreet-papers", package)
    out = tmp_path / "out"
    out.mkdir()
    if fault == "a folder of this machine":
        (package / "src" / "discreet_papers" / "made.py").write_text(f"HERE = {str(ROOT)!r}\n")
    else:
        (package / "LICENSE").unlink()
        (package / "LICENSE").symlink_to("../LICENSE")
        shutil.copy(ROOT / "LICENSE", tmp_path / "LICENSE")
    monkeypatch.setattr(published, "HERE", ROOT)
    with pytest.raises((SystemExit, published.tarfile.FilterError)):
        published.checked(package, out)
