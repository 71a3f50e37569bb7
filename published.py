"""Builds what would be published and checks it: ``make dist``.

An sdist and a wheel of each package, and the digests of all files. Checked is that a wheel made from the sdist alone
holds the same files to the last byte, that no file names a folder of this machine, and that all packages have one
version. Nothing is sent anywhere.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = (HERE, *sorted(file.parent for file in (HERE / "packages").glob("*/pyproject.toml")))


def build(folder: Path, kind: str, out: Path) -> Path:
    """Build one file of one package."""
    before = set(out.glob("*"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - our own words
    (file,) = set(out.glob("*")) - before
    return file


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def checked(package: Path, out: Path) -> list[Path]:
    """Build a package and check it; the files."""
    sdist, wheel = build(package, "sdist", out), build(package, "wheel", out)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        again = Path(folder) / "again"
        again.mkdir()
        files = contents(wheel)
        if contents(build(unpacked, "wheel", again)) != files:
            sys.exit(f"{wheel.name}: the wheel of the sdist must hold the same files, but it does not.")
    own = str(HERE).encode()
    named = [name for name, text in files.items() if own in text]
    if named:
        sys.exit(f"{wheel.name}: no file may name a folder of this machine, but {named[0]} does.")
    return [sdist, wheel]


def main(out: Path) -> None:
    """Build all and write the digests."""
    versions = {tomllib.loads((package / "pyproject.toml").read_text())["project"]["version"] for package in PACKAGES}
    if len(versions) > 1:
        sys.exit(f"All packages must have one version, but these are: {', '.join(sorted(versions))}.")
    out.mkdir(parents=True, exist_ok=True)
    files = [file for package in PACKAGES for file in checked(package, out)]
    files += sorted(out.glob("*.cdx.json"))
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (out / "SHA256SUMS").write_text("".join(lines))
    print("".join(lines), end="")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
