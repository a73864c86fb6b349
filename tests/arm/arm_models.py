"""arm_models.py BUILD MODELS: each sample model, compiled here for 64-bit ARM, run there by qemu-aarch64 as a package (dynrun) and some as executables,
gives on its data sets what `dynrepl run` gives here: floats within 1e-4, anything else the same. One package for several processors takes the best code on
each, and one for a later processor is refused by name on an earlier one. Skipped (77) without qemu or the cross-built runtime.
With DYN_TEST_ALL all data sets on all processors of emulator.py; else the first and the last data set, each on the next processor in turn. Numbers of
threads and sizes of pages take turns as well."""
import json
import pathlib
import shutil
import sys
import tempfile

from emulator import SKIPPED, attempt, differences, emulator, empty, everything, run

TARGETS = ("aarch64", "cortex-a72")
EXECUTABLES = {"bert": ("",), "keyword": ("", "--static-link"), "ssd": ("",), "quantised": ("",)}


# The code that each processor takes of one package for several.
TAKEN = {"cortex-a53": "aarch64", "cortex-a72": "aarch64", "cortex-a76": "aarch64:fp16+dotprod", "neoverse-n1": "aarch64:fp16+dotprod",
         "max": "aarch64:fp16+dotprod+i8mm+bf16"}


def check_needs(shell, model, arm, work):
    """A package for Armv8.2 and one for several processors, on the least and on those that have more."""
    later, several = work / "later.dynpkg", work / "several.dynpkg"
    run(shell, "compile", model, "--target", "armv8.2", "-o", later, "--quiet")
    run(shell, "compile", model, "--target", "aarch64-multi", "-o", several, "--quiet")
    run(shell, "run", model, "--dim", "time=20", "--output-dir", empty(work / "ours"), "--quiet")
    for processor in arm.processors:
        def there(package, *words):
            return attempt(*arm.words(processor, 4096, arm.program("dynrun"), package, *words))
        done = there(later, "--dim", "time=20", "--quiet")
        fits = TAKEN[processor] != "aarch64"
        if done.returncode != (0 if fits else 4) or (not fits and "this processor lacks fp16, dotprod" not in done.stderr):
            sys.exit(f"code for armv8.2 on {processor} ends with {done.returncode}: {done.stdout}{done.stderr}")
        done = there(several, "--describe")
        if f"code    {TAKEN[processor]}\n" not in done.stdout:
            sys.exit(f"of code for several {processor} takes: {done.stdout}{done.stderr}")
        there(several, "--dim", "time=20", "--output-dir", empty(work / "theirs"), "--quiet")
        fault, _ = differences(work / "ours", work / "theirs")
        if fault:
            sys.exit(f"code for several on {processor}: {fault}")


def main():
    build, models = map(pathlib.Path, sys.argv[1:3])
    arm, why = emulator(build)
    if not arm:
        print(why)
        return SKIPPED
    shell, runs, elements = build / "bin" / "dynrepl", 0, 0
    work = pathlib.Path(tempfile.mkdtemp())
    try:
        if "neon" not in run(*arm.words(arm.processors[0], 4096, arm.program("vmrun"), "kernels")):
            sys.exit("the runtime has no NEON kernels")
        check_needs(shell, models / "keyword" / "model.onnx", arm, work)
        for model in sorted(models.iterdir()):
            file = model / "model.onnx"
            inputs = [port["name"] for port in json.loads(run(shell, "inspect", file, "--json", "--quiet"))["inputs"]]
            programs = []
            for target in TARGETS if everything() else TARGETS[:1]:
                package = work / f"{model.name}_{target}.dynpkg"
                run(shell, "compile", file, "--target", target, "-o", package, "--quiet")
                programs.append((arm.program("dynrun"), package))
            options = EXECUTABLES.get(model.name, ("",) if everything() else ())
            for option in options:
                made = work / f"{model.name}{option}"
                run(shell, "export", file, "--kind", "exe", "--target", "aarch64", *option.split(), "-o", made, "--quiet")
                programs.append((made,))
            sets = sorted(model.glob("test_data_set_*"))
            for data in sets if everything() else (sets[0], sets[-1]):
                given = [f"--input={name}=@{data}/input_{i}.pb" for i, name in enumerate(inputs)]
                ours = empty(work / "ours")
                run(shell, "run", file, *given, "--output-dir", ours, "--threads", "1", "--quiet")
                for program in programs:
                    for processor in arm.processors if everything() else ("",):
                        turn, pages, threads = arm.next()
                        processor = processor or turn
                        theirs = empty(work / "theirs")
                        run(*arm.words(processor, pages, *program, *given, "--output-dir", theirs, "--threads", threads, "--quiet"))
                        what = f"{model.name}, {data.name}, {program[-1].name} on {processor}, {threads} threads, pages of {pages}"
                        fault, count = differences(ours, theirs)
                        if fault:
                            sys.exit(f"{what}: {fault}")
                        elements += count
                        runs += 1
    finally:
        shutil.rmtree(work)
    print(f"arm_models: ok, {runs} runs on {', '.join(arm.processors)}; {elements} elements compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
