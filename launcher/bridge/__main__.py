"""`python -m launcher.bridge`: the same as `chrysalis-mcp`."""

import sys

from . import main

sys.exit(main())
