"""Fail early and clearly when a component is used with missing or unknown props."""

from dataclasses import dataclass
from inspect import Parameter, signature

from interfaces.components import Context, Props, Target


class WrongProps(Exception):  # noqa: N818
    """A component was used in a way it cannot be."""


@dataclass(frozen=True, kw_only=True)
class PropCheckMiddleware:
    """Runs late: what others fill in counts."""

    priority: int = 90

    def __call__(self, target: Target, props: Props, context: Context) -> Props:
        name = getattr(target, "__name__", repr(target))
        parameters = signature(target).parameters
        takes_any = any(
            each.kind is Parameter.VAR_KEYWORD for each in parameters.values()
        )
        required = {
            parameter
            for parameter, each in parameters.items()
            if each.default is Parameter.empty
            and each.kind is not Parameter.VAR_KEYWORD
        }
        if missing := sorted(required - props.keys()):
            raise WrongProps(f"{name} needs {', '.join(missing)}")
        if not takes_any and (unknown := sorted(props.keys() - parameters.keys())):
            raise WrongProps(f"{name} has no {', '.join(unknown)}")
        return props
