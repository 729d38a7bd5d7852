-- dualdbg with nvim-dap (0.6 or later): one session for Python and C++. Put this into init.lua, behind nvim-dap.
local dap = require("dap")

dap.adapters.dualdbg = {
  type = "executable",
  command = "@command@",
  args = { "@args@" },
  options = { initialize_timeout_sec = 30, disconnect_timeout_sec = 10 },
}

local configurations = {
  {
    name = "dualdbg: this file",
    type = "dualdbg",
    request = "launch",
    program = "${file}",
    cwd = "${workspaceFolder}",
    console = "integratedTerminal",
  },
  {
    name = "dualdbg: this file, stop at ...",
    type = "dualdbg",
    request = "launch",
    program = "${file}",
    cwd = "${workspaceFolder}",
    console = "integratedTerminal",
    breakpoints = function()
      return { vim.fn.input("Operator, C++ function or file.cpp:12: ", "randn") }
    end,
  },
  {
    name = "dualdbg: attach to a process",
    type = "dualdbg",
    request = "attach",
    processId = function()
      return require("dap.utils").pick_process()
    end,
  },
}

-- From a C++ file a session can be started too: it asks for the Python program.
local from_native = vim.deepcopy(configurations)
for _, configuration in ipairs(from_native) do
  if configuration.request == "launch" then
    configuration.program = function()
      return vim.fn.input("Python program: ", vim.fn.getcwd() .. "/", "file")
    end
  end
end

dap.configurations.python = vim.list_extend(dap.configurations.python or {}, configurations)
for _, filetype in ipairs({ "c", "cpp", "cuda", "pyrex" }) do
  dap.configurations[filetype] = vim.list_extend(dap.configurations[filetype] or {}, vim.deepcopy(from_native))
end
