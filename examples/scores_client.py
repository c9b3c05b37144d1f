"""Submit predictions to a scoring server: ``python scores_client.py URL COMPETITION TOKEN PREDICTIONS.csv``."""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path


def submit(url: str, competition: str, token: str, csv: bytes) -> dict:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
    address = f"{url.rstrip('/')}/api/v1/competitions/{competition}/submissions"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, csv, headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        sys.exit(json.load(refusal)["error"])
    except urllib.error.URLError as failure:
        sys.exit(f"{url} cannot be reached: {failure.reason}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    score = submit(*sys.argv[1:4], csv=Path(sys.argv[4]).read_bytes())
    print(f"submission {score['number']} scored {score['text']}")
