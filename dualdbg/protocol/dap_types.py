"""What an adapter sends, as types: the bodies of answers and events, and the arguments of its own requests.

Made by scripts/dap_types.py from the schema of the Debug Adapter Protocol. Change the script, not this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, overload

# In typing only from Python 3.11 on; nothing reads these annotations while the program runs.
if TYPE_CHECKING:
    from typing_extensions import NotRequired

ChecksumAlgorithm = Literal["MD5", "SHA1", "SHA256", "timestamp"]
DataBreakpointAccessType = Literal["read", "write", "readWrite"]
CompletionItemType = Literal[
    "method",
    "function",
    "constructor",
    "field",
    "variable",
    "class",
    "interface",
    "module",
    "property",
    "unit",
    "value",
    "enum",
    "keyword",
    "snippet",
    "text",
    "color",
    "file",
    "reference",
    "customcolor",
]
ExceptionBreakMode = Literal["never", "always", "unhandled", "userUnhandled"]


class StoppedEventBody(TypedDict):
    reason: str
    description: NotRequired[str]
    threadId: NotRequired[int]
    preserveFocusHint: NotRequired[bool]
    text: NotRequired[str]
    allThreadsStopped: NotRequired[bool]
    hitBreakpointIds: NotRequired[Sequence[int]]


class ContinuedEventBody(TypedDict):
    threadId: int
    allThreadsContinued: NotRequired[bool]


class ExitedEventBody(TypedDict):
    exitCode: int


class TerminatedEventBody(TypedDict):
    restart: NotRequired[Any]


class ThreadEventBody(TypedDict):
    reason: str
    threadId: int


class OutputEventBody(TypedDict):
    category: NotRequired[str]
    output: str
    group: NotRequired[Literal["start", "startCollapsed", "end"]]
    variablesReference: NotRequired[int]
    source: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    data: NotRequired[Any]
    locationReference: NotRequired[int]


class Source(TypedDict):
    name: NotRequired[str]
    path: NotRequired[str]
    sourceReference: NotRequired[int]
    presentationHint: NotRequired[Literal["normal", "emphasize", "deemphasize"]]
    origin: NotRequired[str]
    sources: NotRequired[Sequence[Source]]
    adapterData: NotRequired[Any]
    checksums: NotRequired[Sequence[Checksum]]


class Checksum(TypedDict):
    algorithm: ChecksumAlgorithm
    checksum: str


class BreakpointEventBody(TypedDict):
    reason: str
    breakpoint: Breakpoint


class Breakpoint(TypedDict):
    id: NotRequired[int]
    verified: bool
    message: NotRequired[str]
    source: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    instructionReference: NotRequired[str]
    offset: NotRequired[int]
    reason: NotRequired[Literal["pending", "failed"]]


class ModuleEventBody(TypedDict):
    reason: Literal["new", "changed", "removed"]
    module: Module


class Module(TypedDict):
    id: int | str
    name: str
    path: NotRequired[str]
    isOptimized: NotRequired[bool]
    isUserCode: NotRequired[bool]
    version: NotRequired[str]
    symbolStatus: NotRequired[str]
    symbolFilePath: NotRequired[str]
    dateTimeStamp: NotRequired[str]
    addressRange: NotRequired[str]


class LoadedSourceEventBody(TypedDict):
    reason: Literal["new", "changed", "removed"]
    source: Source


class ProcessEventBody(TypedDict):
    name: str
    systemProcessId: NotRequired[int]
    isLocalProcess: NotRequired[bool]
    startMethod: NotRequired[Literal["launch", "attach", "attachForSuspendedLaunch"]]
    pointerSize: NotRequired[int]


class CapabilitiesEventBody(TypedDict):
    capabilities: Capabilities


class Capabilities(TypedDict):
    supportsConfigurationDoneRequest: NotRequired[bool]
    supportsFunctionBreakpoints: NotRequired[bool]
    supportsConditionalBreakpoints: NotRequired[bool]
    supportsHitConditionalBreakpoints: NotRequired[bool]
    supportsEvaluateForHovers: NotRequired[bool]
    exceptionBreakpointFilters: NotRequired[Sequence[ExceptionBreakpointsFilter]]
    supportsStepBack: NotRequired[bool]
    supportsSetVariable: NotRequired[bool]
    supportsRestartFrame: NotRequired[bool]
    supportsGotoTargetsRequest: NotRequired[bool]
    supportsStepInTargetsRequest: NotRequired[bool]
    supportsCompletionsRequest: NotRequired[bool]
    completionTriggerCharacters: NotRequired[Sequence[str]]
    supportsModulesRequest: NotRequired[bool]
    additionalModuleColumns: NotRequired[Sequence[ColumnDescriptor]]
    supportedChecksumAlgorithms: NotRequired[Sequence[ChecksumAlgorithm]]
    supportsRestartRequest: NotRequired[bool]
    supportsExceptionOptions: NotRequired[bool]
    supportsValueFormattingOptions: NotRequired[bool]
    supportsExceptionInfoRequest: NotRequired[bool]
    supportTerminateDebuggee: NotRequired[bool]
    supportSuspendDebuggee: NotRequired[bool]
    supportsDelayedStackTraceLoading: NotRequired[bool]
    supportsLoadedSourcesRequest: NotRequired[bool]
    supportsLogPoints: NotRequired[bool]
    supportsTerminateThreadsRequest: NotRequired[bool]
    supportsSetExpression: NotRequired[bool]
    supportsTerminateRequest: NotRequired[bool]
    supportsDataBreakpoints: NotRequired[bool]
    supportsReadMemoryRequest: NotRequired[bool]
    supportsWriteMemoryRequest: NotRequired[bool]
    supportsDisassembleRequest: NotRequired[bool]
    supportsCancelRequest: NotRequired[bool]
    supportsBreakpointLocationsRequest: NotRequired[bool]
    supportsClipboardContext: NotRequired[bool]
    supportsSteppingGranularity: NotRequired[bool]
    supportsInstructionBreakpoints: NotRequired[bool]
    supportsExceptionFilterOptions: NotRequired[bool]
    supportsSingleThreadExecutionRequests: NotRequired[bool]
    supportsDataBreakpointBytes: NotRequired[bool]
    breakpointModes: NotRequired[Sequence[BreakpointMode]]
    supportsANSIStyling: NotRequired[bool]


class ExceptionBreakpointsFilter(TypedDict):
    filter: str
    label: str
    description: NotRequired[str]
    default: NotRequired[bool]
    supportsCondition: NotRequired[bool]
    conditionDescription: NotRequired[str]


class ColumnDescriptor(TypedDict):
    attributeName: str
    label: str
    format: NotRequired[str]
    type: NotRequired[Literal["string", "number", "boolean", "unixTimestampUTC"]]
    width: NotRequired[int]


class BreakpointMode(TypedDict):
    mode: str
    label: str
    description: NotRequired[str]
    appliesTo: Sequence[str]


class ProgressStartEventBody(TypedDict):
    progressId: str
    title: str
    requestId: NotRequired[int]
    cancellable: NotRequired[bool]
    message: NotRequired[str]
    percentage: NotRequired[float]


class ProgressUpdateEventBody(TypedDict):
    progressId: str
    message: NotRequired[str]
    percentage: NotRequired[float]


class ProgressEndEventBody(TypedDict):
    progressId: str
    message: NotRequired[str]


class InvalidatedEventBody(TypedDict):
    areas: NotRequired[Sequence[str]]
    threadId: NotRequired[int]
    stackFrameId: NotRequired[int]


class MemoryEventBody(TypedDict):
    memoryReference: str
    offset: int
    count: int


class BreakpointLocationsResponseBody(TypedDict):
    breakpoints: Sequence[BreakpointLocation]


class BreakpointLocation(TypedDict):
    line: int
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class SetBreakpointsResponseBody(TypedDict):
    breakpoints: Sequence[Breakpoint]


class SetFunctionBreakpointsResponseBody(TypedDict):
    breakpoints: Sequence[Breakpoint]


class SetExceptionBreakpointsResponseBody(TypedDict):
    breakpoints: NotRequired[Sequence[Breakpoint]]


class DataBreakpointInfoResponseBody(TypedDict):
    dataId: str | None
    description: str
    accessTypes: NotRequired[Sequence[DataBreakpointAccessType]]
    canPersist: NotRequired[bool]


class SetDataBreakpointsResponseBody(TypedDict):
    breakpoints: Sequence[Breakpoint]


class SetInstructionBreakpointsResponseBody(TypedDict):
    breakpoints: Sequence[Breakpoint]


class ContinueResponseBody(TypedDict):
    allThreadsContinued: NotRequired[bool]


class StackTraceResponseBody(TypedDict):
    stackFrames: Sequence[StackFrame]
    totalFrames: NotRequired[int]


class StackFrame(TypedDict):
    id: int
    name: str
    source: NotRequired[Source]
    line: int
    column: int
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    canRestart: NotRequired[bool]
    instructionPointerReference: NotRequired[str]
    moduleId: NotRequired[int | str]
    presentationHint: NotRequired[Literal["normal", "label", "subtle"]]


class ScopesResponseBody(TypedDict):
    scopes: Sequence[Scope]


class Scope(TypedDict):
    name: str
    presentationHint: NotRequired[str]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    expensive: bool
    source: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class VariablesResponseBody(TypedDict):
    variables: Sequence[Variable]


class Variable(TypedDict):
    name: str
    value: str
    type: NotRequired[str]
    presentationHint: NotRequired[VariablePresentationHint]
    evaluateName: NotRequired[str]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    declarationLocationReference: NotRequired[int]
    valueLocationReference: NotRequired[int]


class VariablePresentationHint(TypedDict):
    kind: NotRequired[str]
    attributes: NotRequired[Sequence[str]]
    visibility: NotRequired[str]
    lazy: NotRequired[bool]


class SetVariableResponseBody(TypedDict):
    value: str
    type: NotRequired[str]
    variablesReference: NotRequired[int]
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    valueLocationReference: NotRequired[int]


class SourceResponseBody(TypedDict):
    content: str
    mimeType: NotRequired[str]


class ThreadsResponseBody(TypedDict):
    threads: Sequence[Thread]


class Thread(TypedDict):
    id: int
    name: str


class ModulesResponseBody(TypedDict):
    modules: Sequence[Module]
    totalModules: NotRequired[int]


class LoadedSourcesResponseBody(TypedDict):
    sources: Sequence[Source]


class EvaluateResponseBody(TypedDict):
    result: str
    type: NotRequired[str]
    presentationHint: NotRequired[VariablePresentationHint]
    variablesReference: int
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    valueLocationReference: NotRequired[int]


class SetExpressionResponseBody(TypedDict):
    value: str
    type: NotRequired[str]
    presentationHint: NotRequired[VariablePresentationHint]
    variablesReference: NotRequired[int]
    namedVariables: NotRequired[int]
    indexedVariables: NotRequired[int]
    memoryReference: NotRequired[str]
    valueLocationReference: NotRequired[int]


class StepInTargetsResponseBody(TypedDict):
    targets: Sequence[StepInTarget]


class StepInTarget(TypedDict):
    id: int
    label: str
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class GotoTargetsResponseBody(TypedDict):
    targets: Sequence[GotoTarget]


class GotoTarget(TypedDict):
    id: int
    label: str
    line: int
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    instructionPointerReference: NotRequired[str]


class CompletionsResponseBody(TypedDict):
    targets: Sequence[CompletionItem]


class CompletionItem(TypedDict):
    label: str
    text: NotRequired[str]
    sortText: NotRequired[str]
    detail: NotRequired[str]
    type: NotRequired[CompletionItemType]
    start: NotRequired[int]
    length: NotRequired[int]
    selectionStart: NotRequired[int]
    selectionLength: NotRequired[int]


class ExceptionInfoResponseBody(TypedDict):
    exceptionId: str
    description: NotRequired[str]
    breakMode: ExceptionBreakMode
    details: NotRequired[ExceptionDetails]


class ExceptionDetails(TypedDict):
    message: NotRequired[str]
    typeName: NotRequired[str]
    fullTypeName: NotRequired[str]
    evaluateName: NotRequired[str]
    stackTrace: NotRequired[str]
    innerException: NotRequired[Sequence[ExceptionDetails]]


class ReadMemoryResponseBody(TypedDict):
    address: str
    unreadableBytes: NotRequired[int]
    data: NotRequired[str]


class WriteMemoryResponseBody(TypedDict):
    offset: NotRequired[int]
    bytesWritten: NotRequired[int]


class DisassembleResponseBody(TypedDict):
    instructions: Sequence[DisassembledInstruction]


class DisassembledInstruction(TypedDict):
    address: str
    instructionBytes: NotRequired[str]
    instruction: str
    symbol: NotRequired[str]
    location: NotRequired[Source]
    line: NotRequired[int]
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]
    presentationHint: NotRequired[Literal["normal", "invalid"]]


class LocationsResponseBody(TypedDict):
    source: Source
    line: int
    column: NotRequired[int]
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class RunInTerminalRequestArguments(TypedDict):
    kind: NotRequired[Literal["integrated", "external"]]
    title: NotRequired[str]
    cwd: str
    args: Sequence[str]
    env: NotRequired[Mapping[str, str | None]]
    argsCanBeInterpretedByShell: NotRequired[bool]


class StartDebuggingRequestArguments(TypedDict):
    configuration: Mapping[str, Any]
    outputPresentation: NotRequired[Literal["separate", "mergeWithParent"]]
    request: Literal["launch", "attach"]


class Sender(Protocol):
    """The way to a client: mypy lets only what the protocol knows be sent."""

    @overload
    def event(self, name: Literal["initialized"], body: None = ...) -> None: ...
    @overload
    def event(self, name: Literal["stopped"], body: StoppedEventBody) -> None: ...
    @overload
    def event(self, name: Literal["continued"], body: ContinuedEventBody) -> None: ...
    @overload
    def event(self, name: Literal["exited"], body: ExitedEventBody) -> None: ...
    @overload
    def event(self, name: Literal["terminated"], body: TerminatedEventBody | None = ...) -> None: ...
    @overload
    def event(self, name: Literal["thread"], body: ThreadEventBody) -> None: ...
    @overload
    def event(self, name: Literal["output"], body: OutputEventBody) -> None: ...
    @overload
    def event(self, name: Literal["breakpoint"], body: BreakpointEventBody) -> None: ...
    @overload
    def event(self, name: Literal["module"], body: ModuleEventBody) -> None: ...
    @overload
    def event(self, name: Literal["loadedSource"], body: LoadedSourceEventBody) -> None: ...
    @overload
    def event(self, name: Literal["process"], body: ProcessEventBody) -> None: ...
    @overload
    def event(self, name: Literal["capabilities"], body: CapabilitiesEventBody) -> None: ...
    @overload
    def event(self, name: Literal["progressStart"], body: ProgressStartEventBody) -> None: ...
    @overload
    def event(self, name: Literal["progressUpdate"], body: ProgressUpdateEventBody) -> None: ...
    @overload
    def event(self, name: Literal["progressEnd"], body: ProgressEndEventBody) -> None: ...
    @overload
    def event(self, name: Literal["invalidated"], body: InvalidatedEventBody) -> None: ...
    @overload
    def event(self, name: Literal["memory"], body: MemoryEventBody) -> None: ...

    @overload
    async def ask(
        self, command: Literal["runInTerminal"], arguments: RunInTerminalRequestArguments, deadline: float
    ) -> Mapping[str, Any]: ...
    @overload
    async def ask(
        self, command: Literal["startDebugging"], arguments: StartDebuggingRequestArguments, deadline: float
    ) -> Mapping[str, Any]: ...


ANSWERS = {
    "cancel": "None",
    "initialize": "Capabilities | None",
    "configurationDone": "None",
    "launch": "None",
    "attach": "None",
    "restart": "None",
    "disconnect": "None",
    "terminate": "None",
    "breakpointLocations": "BreakpointLocationsResponseBody",
    "setBreakpoints": "SetBreakpointsResponseBody",
    "setFunctionBreakpoints": "SetFunctionBreakpointsResponseBody",
    "setExceptionBreakpoints": "SetExceptionBreakpointsResponseBody | None",
    "dataBreakpointInfo": "DataBreakpointInfoResponseBody",
    "setDataBreakpoints": "SetDataBreakpointsResponseBody",
    "setInstructionBreakpoints": "SetInstructionBreakpointsResponseBody",
    "continue": "ContinueResponseBody",
    "next": "None",
    "stepIn": "None",
    "stepOut": "None",
    "stepBack": "None",
    "reverseContinue": "None",
    "restartFrame": "None",
    "goto": "None",
    "pause": "None",
    "stackTrace": "StackTraceResponseBody",
    "scopes": "ScopesResponseBody",
    "variables": "VariablesResponseBody",
    "setVariable": "SetVariableResponseBody",
    "source": "SourceResponseBody",
    "threads": "ThreadsResponseBody",
    "terminateThreads": "None",
    "modules": "ModulesResponseBody",
    "loadedSources": "LoadedSourcesResponseBody",
    "evaluate": "EvaluateResponseBody",
    "setExpression": "SetExpressionResponseBody",
    "stepInTargets": "StepInTargetsResponseBody",
    "gotoTargets": "GotoTargetsResponseBody",
    "completions": "CompletionsResponseBody",
    "exceptionInfo": "ExceptionInfoResponseBody",
    "readMemory": "ReadMemoryResponseBody | None",
    "writeMemory": "WriteMemoryResponseBody | None",
    "disassemble": "DisassembleResponseBody | None",
    "locations": "LocationsResponseBody | None",
}
"""The type of the body of the answer to each command; "None" where it has none."""
