"""Write the policies into a folder: `python -m moorage.admission.policies manifests/policies`."""

import sys
from pathlib import Path

from moorage.admission.policies import policy_documents

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "manifests/policies")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in policy_documents().items():
        (folder / name).write_text(text)
