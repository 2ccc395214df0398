"""`python -m daemon`: the daemon in the foreground."""

import sys

from .main import main

sys.exit(main())
