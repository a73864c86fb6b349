"""Classes under the name that programs import them by."""

from .._binding import IOBinding
from .._session import InferenceSession
from .._values import OrtDevice, OrtValue, SparseTensor

Session = InferenceSession

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue", "Session", "SparseTensor"]
