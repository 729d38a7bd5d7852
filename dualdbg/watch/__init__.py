"""Programs that run alone, at full speed, until they crash, hang or end: what happened is then told without gdb."""
