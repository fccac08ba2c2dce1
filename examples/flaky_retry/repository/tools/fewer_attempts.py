"""Run pytest on a product that tries twice instead of three times: tests that are worth anything fail then.

A check runs this in a copy of the tree that is thrown away afterwards. Exit 3 if there is nothing to change.
"""

import subprocess
import sys
from pathlib import Path

product = Path("src/retry.py")
changed = product.read_text().replace("ATTEMPTS = 3", "ATTEMPTS = 2")
if changed == product.read_text():
    sys.exit(3)
product.write_text(changed)
sys.exit(subprocess.call([sys.executable, "-m", "pytest", *sys.argv[1:]]))
