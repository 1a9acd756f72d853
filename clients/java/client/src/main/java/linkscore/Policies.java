package linkscore;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import linkscore.v1.PolicySpec;

/** Policies by name. For parameters fill in a {@link PolicySpec}. */
public final class Policies {
  private Policies() {}

  /** A policy with its default parameters. A name the contract does not know is that of a policy from outside. */
  public static PolicySpec named(String name) {
    FieldDescriptor field = PolicySpec.getDescriptor().findFieldByName(name);
    PolicySpec.Builder spec = PolicySpec.newBuilder();
    if (field == null || name.equals("external")) {
      spec.getExternalBuilder().setName(name);
      return spec.build();
    }
    Message defaults = spec.newBuilderForField(field).build();
    return spec.setField(field, defaults).build();
  }
}
