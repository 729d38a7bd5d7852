"""What the front ends for people share: the prompt's commands, what they report, and its text."""
