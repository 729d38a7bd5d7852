"""``dualdbg mcp``, spoken to by the SDK's own client."""
