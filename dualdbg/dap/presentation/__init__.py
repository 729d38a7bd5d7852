"""From the session to the protocol: breakpoints, values, sources, stops and output in the client's form."""
