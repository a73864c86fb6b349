"""samples/16_serve/inference_service.yaml by the schema of Kubernetes, as its own Python client has it."""
import importlib.util
import re
import unittest

import models

MISSING = [package for name, package in (("yaml", "pyyaml"), ("kubernetes", "kubernetes"))
           if importlib.util.find_spec(name) is None]
if not MISSING:
    import kubernetes.client
    import kubernetes.utils
    import yaml

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def faults(value, kind, at):
    """Where a value breaks the schema of a kind: unknown, missing, of another type."""
    if kind == "object":  # a number or a text
        return [] if isinstance(value, (int, str)) else ["%s: %r is neither a number nor a text" % (at, value)]
    if kind in PLAIN:
        good = isinstance(value, PLAIN[kind]) and (kind == "bool") == isinstance(value, bool)
        return [] if good else ["%s: %r is no %s" % (at, value, kind)]
    if inner := re.fullmatch(r"[Ll]ist\[(.*)\]", kind):
        if not isinstance(value, list):
            return ["%s: no list" % at]
        return [one for i, item in enumerate(value) for one in faults(item, inner[1], "%s[%d]" % (at, i))]
    if inner := re.fullmatch(r"[Dd]ict[(\[]str, (.*)[)\]]", kind):
        if not isinstance(value, dict):
            return ["%s: no mapping" % at]
        return [one for key, item in value.items() for one in faults(item, inner[1], "%s.%s" % (at, key))]
    model = getattr(kubernetes.client, kind)
    if not isinstance(value, dict):
        return ["%s: no %s" % (at, kind)]
    fields = {key: name for name, key in model.attribute_map.items()}
    found = ["%s: %s has no %s" % (at, kind, key) for key in value if key not in fields]
    known = {key: item for key, item in value.items() if key in fields}
    for key, item in known.items():
        found += faults(item, model.openapi_types[fields[key]], "%s.%s" % (at, key))
    try:
        model(**{fields[key]: item for key, item in known.items()})
    except ValueError as missing:
        found.append("%s: %s" % (at, missing))
    return found


@unittest.skipIf(MISSING, "there is no package %s" % ", ".join(MISSING))
class Manifest(unittest.TestCase):
    def setUp(self):
        self.made = yaml.safe_load((models.SOURCE / "samples/16_serve/inference_service.yaml").read_text())
        self.predictor = self.made["spec"]["predictor"]

    def test_schema(self):
        self.assertEqual(set(self.made), {"apiVersion", "kind", "metadata", "spec"})
        self.assertEqual(faults(self.made["metadata"], "V1ObjectMeta", "metadata"), [])
        # Of KServe's schema the predictor has what a pod has; fields of its own, such as minReplicas, are not used.
        self.assertEqual(faults(self.predictor, "V1PodSpec", "predictor"), [])
        [container] = self.predictor["containers"]
        for sizes in container["resources"].values():
            for size in sizes.values():
                self.assertGreater(kubernetes.utils.parse_quantity(size), 0)
        volumes = {one["name"] for one in self.predictor["volumes"]}
        self.assertLessEqual({one["name"] for one in container["volumeMounts"]}, volumes)

    def test_faults_are_found(self):
        [container] = self.predictor["containers"]
        for change, said in (({"imagee": "x"}, "has no imagee"), ({"args": "x"}, "no list"), ({"name": None}, "name"),
                             ({"ports": [{}]}, "container_?[pP]ort"), ({"securityContext": {"runAsNonRoot": "yes"}}, "no bool")):
            found = faults({**self.predictor, "containers": [{**container, **change}]}, "V1PodSpec", "predictor")
            self.assertTrue(any(re.search(said, one) for one in found), (change, found))


if __name__ == "__main__":
    unittest.main()
