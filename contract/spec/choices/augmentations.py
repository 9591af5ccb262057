"""The spec of the augmentation: random changes of training images."""

from typing import Annotated, Literal

from pydantic import Field

from contract.spec.base import Spec
from contract.spec.choices.imported import Imported

FirstAugmentation = Literal["none", "mirror", "crop", "crop_mirror", "fixed_crop", "fixed_crop_mirror"]


class ImageAugmentation(Spec):
    """Random crops (Szegedy et al., 2015, or of fixed size as in Caffe) and mirror images of image folders."""

    kind: FirstAugmentation = "crop_mirror"
    """`crop`: a random box of each image instead of its central square; `mirror`: every second image is mirrored;
    `crop_mirror`: both; `fixed_crop`: a random square of 7/8 of the shorter side within the image's central square,
    which with mirror images, `fixed_crop_mirror`, is the weak augmentation of Caffe's nets; `none`: images as in an
    evaluation. All but `none` need an image folder."""


class ImportedAugmentation(Imported):
    """A user's augmentation: the function returns `augment(image)`, which returns an image of the same shape.

    An image is a float32 tensor (channels, height, width), normalized. Random numbers of torch, NumPy and Python are
    seeded for each image, so that a resumed run draws the same numbers.
    """

    first: FirstAugmentation = "none"
    """What comes before the function: the augmentation of image folders."""


Augmentation = Annotated[ImageAugmentation | ImportedAugmentation, Field(discriminator="kind")]
