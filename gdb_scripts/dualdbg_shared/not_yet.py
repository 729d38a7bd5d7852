"""What is shown for an argument that is not yet where debug info says; who reads it elsewhere looks for this text."""

NOT_YET = "<not there yet: the function has just been entered>"
