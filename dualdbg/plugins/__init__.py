"""What entry points add to the debugger (group ``dualdbg.commands``, and pytest's own); nothing else imports it."""
