package linkscore;

import com.google.protobuf.Descriptors.FieldDescriptor;
import linkscore.v1.Budget;

/** Budgets as a crawler's configuration has them. */
public final class Budgets {
  private Budgets() {}

  /**
   * Reads {@code max_fetches=5000 enough_coverage=0.95}: fields of {@link Budget}, with spaces or commas between.
   *
   * @return null if there is none
   * @throws IllegalArgumentException a name is unknown, or a number is none
   */
  public static Budget of(String text) {
    Budget.Builder made = Budget.newBuilder();
    for (String bound : text.split("[,\\s]+")) {
      if (!bound.isEmpty()) {
        set(made, bound.split("=", 2));
      }
    }
    return made.getAllFields().isEmpty() ? null : made.build();
  }

  private static void set(Budget.Builder budget, String[] bound) {
    FieldDescriptor field = Budget.getDescriptor().findFieldByName(bound[0]);
    if (field == null) {
      throw new IllegalArgumentException("budget has no bound \"" + bound[0] + "\"");
    }
    boolean isWhole = field.getJavaType() == FieldDescriptor.JavaType.LONG;
    String number = bound.length < 2 ? "" : bound[1];
    try {
      budget.setField(field, isWhole ? (Object) Long.valueOf(number) : (Object) Double.valueOf(number));
    } catch (NumberFormatException e) {
      String what = isWhole ? "a whole number" : "a number";
      throw new IllegalArgumentException("budget: " + bound[0] + " must be " + what + ", got \"" + number + "\"", e);
    }
  }
}
