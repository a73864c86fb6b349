"""Programs of other people's packages that run models with onnxruntime, unmodified, on inputs made here:

    python programs.py NAME [REPEAT]                    on onnxruntime
    python -m dyn.compat programs.py NAME [REPEAT]      on Dyn

prints {"answers": ..., "seconds": the best of REPEAT, "first_seconds": with loading and the first run} as JSON."""
import contextlib
import importlib.util
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve()


def picture(*lines):
    import cv2
    import numpy as np
    image = np.full((60 + 120 * len(lines), 700, 3), 255, np.uint8)
    for i, line in enumerate(lines):
        cv2.putText(image, line, (30, 100 + 120 * i), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 4)
    return image


def magika():
    """google/magika: what kind of content a file has."""
    from magika import Magika
    model = Magika()
    files = sorted(HERE.parent.glob("*.py")) + sorted((HERE.parents[2] / "docs").glob("*.md"))[:20]

    def work():
        return [[str(one.output.label), one.score] for one in model.identify_paths(files)]
    return work


def rapidocr():
    """rapidocr-onnxruntime: finds lines of text, their direction, and reads them: three models."""
    from rapidocr_onnxruntime import RapidOCR
    engine, image = RapidOCR(), picture("Hello World 2026", "dynamic shapes")

    def work():
        found, _ = engine(image)
        return [[[list(map(float, point)) for point in box], text, float(score)] for box, text, score in found]
    return work


def ddddocr():
    """ddddocr: reads captchas by two models, and finds objects by a third. The first is quantised as it runs: a last
    bit more or less in front of a rounding moves its scores by 1 in 200 (K or k), so its word has no such letters."""
    import cv2
    import ddddocr
    image, plain = picture("a7Kx")[60:130, :230], picture("3568")[60:130, :230]
    data, digits = (cv2.imencode(".png", one)[1].tobytes() for one in (image, plain))
    old, new = ddddocr.DdddOcr(show_ad=False), ddddocr.DdddOcr(show_ad=False, beta=True)
    finder = ddddocr.DdddOcr(det=True, ocr=False, show_ad=False)

    def work():
        return [old.classification(digits), new.classification(data), finder.detection(data)]
    return work


def nudenet():
    """nudenet: a YOLO detector."""
    import numpy as np
    from nudenet import NudeDetector
    detector = NudeDetector()
    image = np.random.default_rng(0).integers(0, 255, (320, 240, 3), dtype=np.uint8)
    name = detector.onnx_session.get_inputs()[0].name

    def work():
        raw = detector.onnx_session.run(None, {name: np.random.default_rng(1).random((1, 3, 320, 320), np.float32)})
        return [detector.detect(image), len(detector.detect_batch([image] * 3)),
                [[float(x) for x in one.reshape(-1)[::97]] for one in raw]]
    return work


def silero():
    """silero-vad: where in a recording somebody speaks, 32 ms after 32 ms with a state."""
    import numpy as np
    import silero_vad
    import torch
    model = silero_vad.load_silero_vad(onnx=True)
    times = np.arange(16000 * 2) / 16000
    voice = sum(np.sin(2 * np.pi * 130 * k * times * (1 + .02 * np.sin(9 * times))) / k for k in range(1, 12))
    sound = torch.from_numpy((0.2 * voice * (np.sin(2 * np.pi * 3 * times) > -.5)).astype(np.float32))

    def work():
        model.reset_states()
        steps = [float(model(sound[i:i + 512], 16000)) for i in range(0, len(sound) - 511, 512)]
        return [steps, silero_vad.get_speech_timestamps(sound, model, threshold=0.1)]
    return work


PROGRAMS = {"magika": (magika, "magika"), "rapidocr": (rapidocr, "rapidocr_onnxruntime"),
            "ddddocr": (ddddocr, "ddddocr"), "nudenet": (nudenet, "nudenet"), "silero": (silero, "silero_vad")}


def available():
    return [name for name, (_, package) in PROGRAMS.items() if importlib.util.find_spec(package)]


def differs(one, other, tolerance=2e-3):
    """The first place where two answers differ, or None."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return next((found for found in map(differs, one, other) if found), None)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((found for found in (differs(one[key], other[key]) for key in one) if found), None)
    if isinstance(one, float) and isinstance(other, float):
        return None if abs(one - other) <= tolerance * max(1, abs(one)) else (one, other)
    return None if one == other else (one, other)


def main():
    name, repeat = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with contextlib.redirect_stdout(sys.stderr):  # banners
        begun = time.perf_counter()
        work = PROGRAMS[name][0]()
        answers = work()
        first = best = time.perf_counter() - begun
        for _ in range(repeat):
            begun = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - begun)
    print(json.dumps({"answers": answers, "seconds": best, "first_seconds": first}, default=int))


if __name__ == "__main__":
    main()
