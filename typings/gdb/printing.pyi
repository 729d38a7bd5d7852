from typing import Any

class PrettyPrinter:
    name: str
    enabled: bool
    def __init__(self, name: str, subprinters: Any = ...) -> None: ...

def __getattr__(name: str) -> Any: ...
