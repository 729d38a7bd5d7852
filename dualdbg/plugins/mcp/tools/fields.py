"""Arguments that several tools have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

SessionId = Annotated[str, Field(description="as run and attach have named it", max_length=20)]
Seconds = Annotated[float, Field(ge=0, le=600, description="to wait at most")]
Limit = Annotated[int, Field(ge=1, le=100, description="the most rows to answer")]
Start = Annotated[int, Field(ge=0, description="the first row to answer")]
Thread = Annotated["int | None", Field(description="an OS thread id; left out: the thread that stopped")]
FrameNumber = Annotated[
    "int | None", Field(description="its number in stack; left out: the frame of the stop")
]
Depth = Annotated[int, Field(ge=1, le=4, description="1: values alone, 2: with their children, and so on")]
Length = Annotated[int, Field(ge=10, le=10_000, description="characters of one value")]
AllFrames = Annotated[bool, Field(description="fold nothing; the interpreter's own frames too")]
Texts = list[Annotated[str, Field(max_length=4000)]]
