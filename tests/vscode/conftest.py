"""The real editors are started by `make test-editors` only: they are downloaded first, and take minutes."""

import os

collect_ignore = [] if os.environ.get("DUALDBG_TEST_EDITORS") == "1" else ["editors"]
