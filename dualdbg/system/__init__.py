"""What the system below gives: folders, processes, waits, limits, texts made safe. Knows no session and no engine."""
