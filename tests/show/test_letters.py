"""Formulas with a problem's own numbers."""

import pytest

from npkl_models.show.letters import plain, put, tidy

TIDIED = {
    r"\max_{y} \; - \sum_{e \le 2} -y_e": r"\max_{y} \; \sum_{e \le 2} y_e",
    r"10 y_e + \frac{y_e^2}{4 100}": r"10 y_e + \frac{y_e^2}{400}",
    "y_e = -2 -1": "y_e = 2",
    "y_e = -w_e -1": "y_e = w_e",
    "y_e = -w_e 1": "y_e = -w_e",
    r"2 \sum_{e \le 2} --1 K_{ij}": r"2 \sum_{e \le 2} K_{ij}",
    "3 --1 z": "3 z",
    r"\sum_{e \le 2} w_e -1 K_{ij}": r"-\sum_{e \le 2} w_e K_{ij}",
    r"1 \sum_{e \le 3} x": r"\sum_{e \le 3} x",
    r"\frac{y^2}{4 0.5}": r"\frac{y^2}{2}",
    r"-1 y_e \le 0": r"-y_e \le 0",
    r"-1 \le y_e \le 0": r"-1 \le y_e \le 0",
    r"1 - -1 K_{ij}": r"1 + K_{ij}",
    r"0 y_e + \frac{y_e^2}{2}": r"\frac{y_e^2}{2}",
    r"(K_{ij} - 0)^2": r"(K_{ij})^2",
    r"3 \sum_{e \le 20} -t_e K_{ij}": r"-3 \sum_{e \le 20} t_e K_{ij}",
    r"((a + b) - 2)^2": r"(a + b - 2)^2",
    r"1e-05 \sum_e x": r"10^{-5} \sum_e x",
    r"y^{(1)}_e + 2.5e+20 x": r"y^{(1)}_e + 2.5 \cdot 10^{20} x",
    r"21 x": r"21 x",
    r"\tfrac{1}{2} (e_i)": r"\tfrac{1}{2} (e_i)",
}


@pytest.mark.parametrize("latex", TIDIED)
def test_numbers_are_multiplied_out(latex):
    assert tidy(latex) == TIDIED[latex]


def test_letters_inside_words_stay():
    assert put(r"\max(0, 1 - t z)", {"t": "t_e", "z": "Z"}) == r"\max(0, 1 - t_e Z)"
    assert put("y^2", {"y": "y^{(1)}_e"}) == "{y^{(1)}_e}^2"


def test_formulas_in_words():
    assert plain(r"K = Q U Q',\; U \succeq 0,\; K_{ii} \le 4") == (
        "K = Q U Q', U is positive semidefinite, K_ii <= 4"
    )
    assert plain(r"\sum_e y^{(2)}_e M_e^{\text{pairs}}") == "sum_e y2_e M_e (pairs)"
    assert plain(r"t_e y + \frac{{y^{(1)}_e}^2}{4}") == "t_e y + y1_e^2/4"
    assert plain(r"\frac{1}{3 \cdot (10)^{20}}") == "1/(3 * (10)^20)"
    assert plain(r"y_e \in \partial f_e(z_e)") == "y_e in the subdifferential of f_e(z_e)"
    assert plain(r"\tfrac{1}{2} \lVert S \rVert_{2}") == "1/2 || S ||_2"
