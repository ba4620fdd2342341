// A HiveMQ that refuses subscriptions whose filter begins with its third argument: Broker FOLDER PORT DENIED.

import com.hivemq.embedded.EmbeddedExtension;
import com.hivemq.embedded.EmbeddedHiveMQ;
import com.hivemq.extension.sdk.api.ExtensionMain;
import com.hivemq.extension.sdk.api.auth.SimpleAuthenticator;
import com.hivemq.extension.sdk.api.auth.SubscriptionAuthorizer;
import com.hivemq.extension.sdk.api.packets.subscribe.SubackReasonCode;
import com.hivemq.extension.sdk.api.parameter.ExtensionStartInput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStartOutput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStopInput;
import com.hivemq.extension.sdk.api.parameter.ExtensionStopOutput;
import com.hivemq.extension.sdk.api.services.Services;
import java.nio.file.Files;
import java.nio.file.Path;

public class Broker {
  private record Rules(String denied) implements ExtensionMain {
    @Override
    public void extensionStart(ExtensionStartInput input, ExtensionStartOutput output) {
      SubscriptionAuthorizer authorizer = (asked, answer) -> {
        if (asked.getSubscription().getTopicFilter().startsWith(denied))
          answer.failAuthorization(SubackReasonCode.NOT_AUTHORIZED);
        else answer.authorizeSuccessfully();
      };
      SimpleAuthenticator anyone = (asked, answer) -> answer.authenticateSuccessfully();
      Services.securityRegistry().setAuthenticatorProvider(given -> anyone);
      Services.securityRegistry().setAuthorizerProvider(given -> authorizer);
    }

    @Override
    public void extensionStop(ExtensionStopInput input, ExtensionStopOutput output) {}
  }

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    for (String name : new String[] {"conf", "data", "extensions"}) Files.createDirectories(folder.resolve(name));
    Files.writeString(
        folder.resolve("conf/config.xml"),
        "<hivemq><listeners><tcp-listener><port>" + arguments[1] + "</port><bind-address>127.0.0.1</bind-address>"
            + "</tcp-listener></listeners>"
            + "<anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics></hivemq>");
    EmbeddedHiveMQ broker =
        EmbeddedHiveMQ.builder()
            .withConfigurationFolder(folder.resolve("conf"))
            .withDataFolder(folder.resolve("data"))
            .withExtensionsFolder(folder.resolve("extensions"))
            .withEmbeddedExtension(
                EmbeddedExtension.builder()
                    .withId("rules")
                    .withName("rules")
                    .withVersion("1")
                    .withAuthor("test")
                    .withPriority(0)
                    .withStartPriority(0)
                    .withExtensionMain(new Rules(arguments[2]))
                    .build())
            .build();
    broker.start().join();
    System.out.println("listening");
    Thread.currentThread().join();
  }
}
