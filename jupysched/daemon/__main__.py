"""`python -m jupysched.daemon`."""

import sys

from jupysched.daemon.main import main

if __name__ == "__main__":
    sys.exit(main())
