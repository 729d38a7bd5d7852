"""The VS Code extension: packed from ``vscode_templates/extension_package`` and the adapter's table of options."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from ... import __version__
from ...dap.options import ATTACH, LAUNCH, of_request
from ...errors import TargetError
from ...system import session_folders
from ...system.environment import own_module
from ...system.patience import patient
from ...system.resources import resource_directory

FOLDER = "extension_package"

# VS Code and editors made from its source: all take --install-extension.
EDITORS = ("code", "code-insiders", "codium", "code-oss", "cursor", "windsurf", "code-server")

_INSTALL_SECONDS = patient(180)
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes

_CONTENT_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".vsixmanifest" ContentType="text/xml"/>
<Default Extension=".md" ContentType="text/markdown"/>
<Default Extension=".png" ContentType="image/png"/>
<Default Extension=".txt" ContentType="text/plain"/>
</Types>
"""


def file_name() -> str:
    """The name of the packed extension."""
    return f"dualdbg-{__version__}.vsix"


def pack(target: Path, command: Sequence[str] = ("dualdbg",)) -> None:
    """Write the ``.vsix``; VS Code will start the adapter as ``command`` followed by ``dap``."""
    source = resource_directory("vscode_templates") / FOLDER
    manifest = package_json(source, command)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "extension.vsixmanifest", _vsix_manifest(manifest).encode())
        _add(archive, "[Content_Types].xml", _CONTENT_TYPES.encode())
        _add(archive, "extension/package.json", (json.dumps(manifest, indent=2) + "\n").encode())
        for path in sorted(source.iterdir()):
            if path.name != "package.json":
                _add(archive, f"extension/{path.name}", path.read_bytes())


def package_json(source: Path, command: Sequence[str]) -> dict[str, Any]:
    """The extension's manifest: the template, with version, adapter, and the schema of launch and attach."""
    manifest: dict[str, Any] = json.loads((source / "package.json").read_text(encoding="utf-8"))
    manifest["version"] = __version__
    (debugger,) = manifest["contributes"]["debuggers"]
    debugger["runtime"], *arguments = command
    debugger["runtimeArgs"] = [*arguments, "dap"]
    debugger["configurationAttributes"] = {request: _schema(request) for request in (LAUNCH, ATTACH)}
    return manifest


def install(editor: str | None) -> str:
    """Have VS Code install the extension, for the adapter of this installation. Returns the command of VS Code.

    Raises TargetError when VS Code's command is not there, or refuses.
    """
    command = _editor(editor)
    with session_folders.temporary() as folder:
        path = folder / file_name()
        pack(path, own_adapter())
        try:
            done = subprocess.run(
                [command, "--install-extension", str(path), "--force"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_INSTALL_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TargetError(f"{command} did not install the extension: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-1:]
        raise TargetError(
            f"{command} did not install the extension (status {done.returncode}): {''.join(last)}",
            f"try by hand: {command} --install-extension FILE, with the file that `make vsix` writes",
        )
    return command


def own_adapter() -> list[str]:
    """The command of this installation, with which VS Code finds it whatever its PATH is."""
    script = Path(sys.executable).with_name("dualdbg")
    return [str(script)] if os.access(script, os.X_OK) else own_module("dualdbg")


def _editor(wanted: str | None) -> str:
    names = [wanted] if wanted else EDITORS
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return found
    raise TargetError(
        f"VS Code's command is not on PATH (looked for {', '.join(names)})",
        "name it: dualdbg vscode install --code /path/to/code; in VS Code itself, "
        "'Shell Command: Install code command in PATH' puts it there",
    )


def _schema(request: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for option in of_request(request):
        properties[option.name] = {**option.schema, "description": option.description}
        if option.default is not None:
            properties[option.name]["default"] = option.default
    return {"type": "object", "properties": properties}


def _vsix_manifest(manifest: dict[str, Any]) -> str:
    """What VS Code reads first (PackageManifest 2.0.0, as Microsoft's vsce writes it)."""
    identity = (
        f"<Identity Language={quoteattr('en-US')} Id={quoteattr(manifest['name'])} "
        f"Version={quoteattr(manifest['version'])} Publisher={quoteattr(manifest['publisher'])}/>"
    )
    engine = quoteattr(manifest["engines"]["vscode"])
    kind = quoteattr(",".join(manifest["extensionKind"]))
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
{identity}
<DisplayName>{manifest["displayName"]}</DisplayName>
<Description xml:space="preserve">{manifest["description"]}</Description>
<Categories>{",".join(manifest["categories"])}</Categories>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionDependencies" Value=""/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value={kind}/>
</Properties>
<License>extension/LICENSE.txt</License>
<Icon>extension/icon.png</Icon>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/icon.png" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
</Assets>
</PackageManifest>
"""


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)
