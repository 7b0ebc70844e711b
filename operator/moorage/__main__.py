"""`python -m moorage` is the command line."""

import sys

from moorage.cli import main

sys.exit(main())
