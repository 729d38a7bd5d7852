"""The parts of the screen: lines, panes, bars. They use Textual, and know neither the session nor a target."""
