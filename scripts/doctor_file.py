"""Makes the doctor one file that any Python from 3.9 on runs: `python scripts/doctor_file.py doctor.pyz`."""

from __future__ import annotations

import argparse
import io
import pathlib
import zipapp
import zipfile

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "ostinato"
PARTS = ("__init__.py", "_version.py", "_errors", "doctor")
MAIN = "import sys\nfrom ostinato.doctor._command import main\nsys.exit(main())\n"


def write(path: pathlib.Path) -> None:
    """Write the file: an archive with a first line that starts Python."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__main__.py", MAIN)
        for part in PARTS:
            files = [SOURCE / part] if part.endswith(".py") else sorted((SOURCE / part).rglob("*.*"))
            for file in files:
                if file.suffix in (".py", ".json"):
                    archive.write(file, "ostinato/" + file.relative_to(SOURCE).as_posix())
    buffer.seek(0)
    zipapp.create_archive(buffer, path, interpreter="/usr/bin/env python3")
    path.chmod(0o755)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=pathlib.Path)
    write(parser.parse_args().path)
