"""Write the CustomResourceDefinitions into a folder: `python -m moorage.api crds/`."""

import sys
from pathlib import Path

from moorage.api.crd import crd_documents

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "crds")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in crd_documents().items():
        (folder / name).write_text(text)
