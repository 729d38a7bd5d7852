"""From what was captured to facts about threads, and to findings."""
