"""``python -m dualdbg``: the same as the console script."""

import sys

from dualdbg.cli.main import main

sys.exit(main())
