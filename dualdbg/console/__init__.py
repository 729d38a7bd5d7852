"""Shared by the front ends for people: the prompt's commands, their reports, and the text of reports."""
