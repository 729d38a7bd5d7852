"""What the panes show, as data: arrangement, changes, breakpoint marks, texts. Nothing here knows Textual's widgets."""
