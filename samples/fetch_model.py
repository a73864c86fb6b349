#!/usr/bin/env python3
"""Fetches a pretrained model of a lesson out of the public Python package it ships in. Nothing is installed; needs pip and the package index.

    python3 samples/fetch_model.py magika|silero FOLDER     writes FOLDER/NAME.onnx (and labels.txt for magika)

magika (Google, Apache-2.0): what kind of content a file has.   silero (Silero Team, MIT): where in a recording somebody speaks.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import zipfile

# name: package, version, the model's path in it
MODELS = {
    "magika": ("magika", "1.0.3", "magika/models/standard_v3_3/model.onnx"),
    "silero": ("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx"),
}


def fetch(name, folder):
    package, version, path = MODELS[name]
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps", "--only-binary=:all:", "-d", place, f"{package}=={version}"], check=True)
        with zipfile.ZipFile(glob.glob(os.path.join(place, "*.whl"))[0]) as wheel:
            if name == "magika":
                config = json.loads(wheel.read(os.path.join(os.path.dirname(path), "config.min.json")))
                with open(os.path.join(folder, "labels.txt"), "w") as labels:
                    labels.writelines(label + "\n" for label in config["target_labels_space"])
            whole = os.path.join(folder, name + ".onnx")
            with open(whole + ".partial", "wb") as model:
                model.write(wheel.read(path))
            os.replace(whole + ".partial", whole)  # the last of all files, and whole


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(__doc__)
    fetch(sys.argv[1], sys.argv[2])
