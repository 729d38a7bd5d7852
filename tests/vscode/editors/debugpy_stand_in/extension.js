// What Microsoft's extensions do, as far as the generated files rely on it: they come from a marketplace only.
// debugpy: "connect" leads straight to a debug adapter, else the window's interpreter runs what "debugAdapterPath" names
// (vscode-python-debugger, adapter/factory.ts).
"use strict";

const vscode = require("vscode");

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("python.interpreterPath", () => process.env.TEST_PYTHON),
    vscode.commands.registerCommand("test.pickProcess", () => process.env.TEST_PROCESS),
    vscode.debug.registerDebugAdapterDescriptorFactory("debugpy", {
      createDebugAdapterDescriptor: ({ configuration }) =>
        configuration.connect
          ? new vscode.DebugAdapterServer(configuration.connect.port, configuration.connect.host)
          : new vscode.DebugAdapterExecutable(process.env.TEST_PYTHON, [configuration.debugAdapterPath]),
    }),
  );
};
