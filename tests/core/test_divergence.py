import pickle

from karat.core import Diverged


def test_divergence_names_the_step_and_the_quantity():
    error = Diverged(12, "the loss is nan")
    assert isinstance(error, ArithmeticError)
    assert str(error) == "training diverged at step 12: the loss is nan."
    assert (error.step, error.what) == (12, "the loss is nan")


def test_divergence_survives_the_trip_between_processes():
    error = pickle.loads(pickle.dumps(Diverged(3, "a weight is inf")))
    assert type(error) is Diverged
    assert (error.step, error.what, str(error)) == (
        3,
        "a weight is inf",
        "training diverged at step 3: a weight is inf.",
    )
