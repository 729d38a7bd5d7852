"""The front end for programs that think: sessions, stacks and values as tools of the Model Context Protocol."""
