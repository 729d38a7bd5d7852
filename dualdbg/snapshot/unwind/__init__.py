"""From the registers of a thread to its native frames, by call frame information."""
