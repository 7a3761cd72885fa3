"""Installed packages that offer plug-ins, made for a test."""

from pathlib import Path


def install(folder: Path, package: str, module: str, content: str, **points: str) -> Path:
    """Puts `package` into `folder` as pip would: one module, its metadata, and by group (`games`, `commands`) what it
    offers, as in `games="nim = nim_game:GAME"`. The module's file."""
    file = folder / f"{module}.py"
    file.write_text(content)
    metadata = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    groups = "".join(f"[sparring.{group}]\n{point}\n" for group, point in points.items())
    (metadata / "entry_points.txt").write_text(groups)
    return file
