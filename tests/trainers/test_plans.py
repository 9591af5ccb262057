"""Every planned collective of a spec becomes the plan that the spec asks for."""

from typing import get_args

import pytest
from pydantic import TypeAdapter

from contract.spec.checks.world_size import check_world_size
from contract.spec.choices import collectives as choices
from trainers.collectives.layout import hosts_of
from trainers.collectives.verify import verify_plan
from trainers.plans import plan_of

pytestmark = pytest.mark.ring("quick")

Collective: TypeAdapter[choices.PlannedCollective] = TypeAdapter(choices.PlannedCollective)


@pytest.mark.parametrize("choice", get_args(choices.PlannedCollective), ids=lambda choice: choice.__name__)
def test_a_choice_becomes_a_plan_of_its_kind_that_sums(choice: type[choices.PlannedCollective]) -> None:
    plan = plan_of(choice(), hosts_of(8, 2))
    assert plan.kind == choice().kind
    verify_plan(plan, world=plan.world, chunks=plan.chunks)


@pytest.mark.parametrize("world", range(1, 13))
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_every_accepted_spec_can_be_planned(world: int, nodes: int) -> None:
    shapes = [choices.Torus(rows=world), choices.Colors(k=world), choices.Hierarchical(group=world)]
    for choice in [*shapes, choices.Server(servers=world), choices.Torus(), choices.Hierarchical()]:
        assert not check_world_size(choice, world)
        if world >= nodes:
            plan = plan_of(choice, hosts_of(world, nodes))
            verify_plan(plan, world=world, chunks=plan.chunks)


def test_a_plan_has_the_choice_that_makes_it() -> None:
    hosts = hosts_of(12, 3)
    for choice in (choices.Ring(), choices.Torus(), choices.Colors(k=3), choices.Hierarchical(), choices.Server()):
        plan = plan_of(choice, hosts)
        again = plan_of(Collective.validate_python({"kind": plan.kind, **plan.shape}), hosts)
        assert list(map(list, again)) == list(map(list, plan))
