"""Kinds of sections of a study file, which are read by their key `kind`."""

from typing import Annotated, Any, Generic, TypeVar, Union, get_args

from pydantic import BaseModel, Field, TypeAdapter

from qdisclab.emulation.kinds.registry import Registry

S = TypeVar("S", bound=BaseModel)


class Sections(Registry[type[S]], Generic[S]):
    """Kinds that are sections of a study file, told apart by their key `kind`."""

    def __init__(self, noun: str, package: str, base: type[S]) -> None:
        super().__init__(noun, package, lambda value: _kind_of(value, base))
        self._adapter: tuple[Any, Any, TypeAdapter[S]] | None = None

    @property
    def form(self) -> Any:
        """Return the annotation of a section of any of the kinds."""
        return self._built()[1]

    @property
    def adapter(self) -> TypeAdapter[S]:
        """Return what reads a section of any of the kinds."""
        return self._built()[2]

    def _built(self) -> tuple[Any, Any, TypeAdapter[S]]:
        kinds = tuple(self.values())
        if self._adapter is None or self._adapter[0] != kinds:
            form: Any = Annotated[Union[kinds], Field(discriminator="kind")]  # noqa: UP007
            self._adapter = kinds, form, TypeAdapter(form)
        return self._adapter


def _kind_of(value: object, base: type[BaseModel]) -> str | None:
    """Return the kind of a section; None for what is no section of `base`, or of no kind."""
    if not (isinstance(value, type) and issubclass(value, base)):
        return None
    field = value.model_fields.get("kind")
    return str(get_args(field.annotation)[0]) if field is not None else None
