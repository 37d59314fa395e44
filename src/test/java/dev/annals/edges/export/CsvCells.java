package dev.annals.edges.export;

/** Reads cells of exported CSV as the contract says. */
public final class CsvCells {

    private CsvCells() {}

    /** The text of a cell, without the apostrophes that were put in front of formulas. */
    public static String text(String cell) {
        StringBuilder text = new StringBuilder(cell.length());
        for (int i = 0; i < cell.length(); i++) {
            if (CsvRecord.isFormula(cell, i)) {
                i++;
            }
            text.append(cell.charAt(i));
        }
        return text.toString();
    }
}
