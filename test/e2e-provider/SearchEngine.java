// A search engine with one node on a port of the loopback, until it is ended: java -cp 'JARS/*' SearchEngine.java FOLDER PORT
import java.io.IOException;
import org.codelibs.opensearch.runner.OpenSearchRunner;

public class SearchEngine {
  public static void main(String[] args) throws InterruptedException {
    OpenSearchRunner runner = new OpenSearchRunner();
    runner.onBuild((number, settings) -> {
      settings.put("http.host", "127.0.0.1");
      settings.put("http.port", args[1]);
      settings.put("transport.host", "127.0.0.1");
      settings.put("discovery.type", "single-node");
      // A disk that is nearly full is no reason not to search.
      settings.put("cluster.routing.allocation.disk.threshold_enabled", "false");
    });
    runner.build(OpenSearchRunner.newConfigs().basePath(args[0]).numOfNode(1).clusterName("readings"));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        runner.close();
      } catch (IOException ignored) {
        // It ends anyway.
      }
    }));
    System.out.println("ready");
    Thread.currentThread().join();
  }
}
