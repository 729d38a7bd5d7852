"""How modules are written: as ``importlib`` does, by their spec (``_module_repr`` in Lib/importlib/_bootstrap.py)."""

from dualdbg_shared import cpython as L

from .writer import Writer, member


def _module(objects, kind, address, depth):
    table = member(objects, address, 0)
    get = (lambda name: objects.tables.get(table, name)) if table else (lambda name: None)
    loader = _given(objects, get("__loader__"))
    how = _by_loader(objects, loader) if loader else None
    if how and objects.layout.minor < 10:  # the loader writes the module there, by a function of its own
        return f"<module {objects.text(get('__name__'), depth + 1)} ({how})>"
    spec = get("__spec__")
    if spec is not None and not _is_none(objects, spec):
        return _by_spec(objects, dict(objects.attributes(objects.types.of(spec), spec)), depth)
    name, file = get("__name__"), get("__file__")
    text = "<module " + (objects.text(name, depth + 1) if name else "'?'")
    if file is not None:
        return f"{text} from {objects.text(file, depth + 1)}>"
    return f"{text} ({objects.text(loader, depth + 1)})>" if loader else text + ">"


_LOADERS = {
    # the name of a loader, or of its class: how it has made a module
    "BuiltinImporter": "built-in",
    "FrozenImporter": "frozen",
    "NamespaceLoader": "namespace",
    "_NamespaceLoader": "namespace",
}


def _by_loader(objects, loader):
    """How a module was made, where ``importlib`` has a word for it; else None."""
    kind = objects.types.of(loader)
    kind = objects.types.read(loader) if kind.has(L.TYPE) else kind
    return _LOADERS.get(kind.name) if (kind.module or "").startswith("_frozen_importlib") else None


def _by_spec(objects, spec, depth):
    """``spec`` has the attributes of a ``ModuleSpec``."""
    name, origin, loader = (_given(objects, spec.get(key)) for key in ("name", "origin", "loader"))
    text = "<module " + (objects.text(name, depth + 1) if name else "'?'")
    if origin is None and loader is None:
        return text + ">"
    if origin is None and objects.layout.minor >= 12 and _by_loader(objects, loader) == "namespace":
        return f"{text} (namespace) from {_folders(objects, loader, depth)}>"
    if origin is None:
        return f"{text} ({objects.text(loader, depth + 1)})>"
    has_place = _given(objects, spec.get("_set_fileattr"))
    if has_place and objects.text(has_place) == "True":
        return f"{text} from {objects.text(origin, depth + 1)}>"
    is_text = objects.types.of(origin).has(L.STR)
    return "{} ({})>".format(text, objects.strings.text(origin, 0) if is_text else objects.text(origin))


def _folders(objects, loader, depth):
    """The folders of a package without an ``__init__.py``: the list in its ``_NamespacePath``."""
    for _ in range(2):
        loader = dict(objects.attributes(objects.types.of(loader), loader)).get("_path")
    return objects.text(loader, depth + 1) if isinstance(loader, int) else "..."


def _given(objects, address):
    """The address, if it is that of an object other than ``None``."""
    return address if isinstance(address, int) and not _is_none(objects, address) else None


def _is_none(objects, address):
    return objects.types.of(address).is_exactly("NoneType")


BY_NAME = {"module": Writer("module", _module)}
