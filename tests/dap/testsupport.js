// Drives the adapter with @vscode/debugadapter-testsupport: one whole session, from launch to disconnect.
// Usage: node testsupport.js '{"python": …, "adapter": …, "program": …, "helper": …, "lines": {…}}'
"use strict";

const assert = require("assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const given = JSON.parse(process.argv[2]);
const SECONDS = 60;

async function main() {
    const client = new DebugClient(given.python, given.adapter, "dualdbg", undefined, true);
    client.defaultTimeout = SECONDS * 1000;
    await client.start();
    let output = "";
    client.on("output", (event) => (output += event.body.output));
    await session(client, () => output);
    await client.stop();
}

// What a request starts, and the stop that follows: the event is waited for before the request is sent.
async function stopAfter(client, action) {
    const [event] = await Promise.all([client.waitForEvent("stopped"), action()]);
    return event.body;
}

async function frames(client, threadId) {
    return (await client.stackTraceRequest({ threadId })).body.stackFrames;
}

async function variables(client, frame) {
    const scopes = (await client.scopesRequest({ frameId: frame.id })).body.scopes;
    const { variablesReference } = scopes[0];
    const rows = (await client.variablesRequest({ variablesReference })).body.variables;
    return Object.fromEntries(rows.map((row) => [row.name, row]));
}

async function session(client, output) {
    const { program, helper, lines } = given;

    // launch, with a breakpoint that the library itself checks: verified, and hit where it was set
    await client.hitBreakpoint({ program }, { path: program, line: lines.outer });
    const [main] = (await client.threadsRequest()).body.threads;
    const threadId = main.id;
    assert.match((await frames(client, threadId))[0].name, /main/);

    // a breakpoint in C++, verified now that the library is there
    const source = { path: helper };
    const breakpoints = [{ line: lines.helper }];
    const [bound] = (await client.setBreakpointsRequest({ source, breakpoints })).body.breakpoints;
    assert.ok(bound.verified, JSON.stringify(bound));
    let stop = await stopAfter(client, () => client.continueRequest({ threadId }));
    assert.equal(stop.reason, "breakpoint");

    // the merged stack: C++ above, Python below, a label between them
    let rows = await frames(client, threadId);
    assert.equal(rows[0].source.path, helper);
    assert.equal(rows[0].line, lines.helper);
    const label = rows.findIndex((row) => row.presentationHint === "label");
    assert.ok(label > 0, JSON.stringify(rows));
    assert.match(rows.find((row, index) => index > label && row.source).name, /main/);

    // variables of both languages at the one stop
    const native = await variables(client, rows[0]);
    assert.equal(native.total.type, "double");
    const doing = await variables(client, rows.find((row) => row.name === "<module>"));
    assert.ok("sample_pybind" in doing, JSON.stringify(doing));

    // steps across: out of C++ to the Python line, and into the callback that C++ calls
    await client.setBreakpointsRequest({ source, breakpoints: [] });
    for (let count = 0; count < 6 && rows[0].source.path !== program; count++) {
        stop = await stopAfter(client, () => client.stepOutRequest({ threadId }));
        assert.equal(stop.reason, "step");
        rows = await frames(client, threadId);
    }
    assert.equal(rows[0].source.path, program);
    while (rows[0].line !== lines.callBack) {
        await stopAfter(client, () => client.nextRequest({ threadId }));
        rows = await frames(client, threadId);
    }
    await stopAfter(client, () => client.stepInRequest({ threadId }));
    rows = await frames(client, threadId);
    assert.match(rows[0].source.path, /\.cpp$/);

    // a value is set where Python is stopped, and the program goes on with it
    await client.setBreakpointsRequest({ source: { path: program }, breakpoints: [{ line: lines.print }] });
    await stopAfter(client, () => client.continueRequest({ threadId }));
    rows = await frames(client, threadId);
    assert.equal(rows[0].line, lines.print);
    const scopes = (await client.scopesRequest({ frameId: rows[0].id })).body.scopes;
    const { variablesReference } = scopes[0];
    await client.setVariableRequest({ variablesReference, name: "text", value: "'set'" });
    const value = await client.evaluateRequest({ expression: "text", frameId: rows[0].id, context: "watch" });
    assert.equal(value.body.result, "'set'");

    // exceptions: the one at the end of the program is caught by the filter
    await client.setExceptionBreakpointsRequest({ filters: ["uncaught"] });
    stop = await stopAfter(client, () => client.continueRequest({ threadId }));
    assert.equal(stop.reason, "exception");
    const info = (await client.exceptionInfoRequest({ threadId })).body;
    assert.match(info.exceptionId, /ValueError/);
    assert.match(output(), /set/);

    // restart: the same breakpoints, from the beginning
    stop = await stopAfter(client, () => client.restartRequest({}));
    rows = await frames(client, stop.threadId);
    assert.equal(rows[0].line, lines.print);
    assert.notEqual(stop.threadId, threadId);

    // disconnect ends the program that was launched
    const ended = client.waitForEvent("exited");
    await client.disconnectRequest({});
    await ended;
    assert.throws(() => process.kill(stop.threadId, 0), /ESRCH/);
}

main().then(
    () => process.exit(0),
    (error) => {
        console.error(error);
        process.exit(1);
    },
);
